"""The final model of a training: trained on all clips, calibrated, described by its card, exported."""
