"""A video, frames or two pictures -> an answer with a picture of why."""
