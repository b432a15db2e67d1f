"""Maps -> tokens, and what happens to tokens: shifted patches, merging, selection, rollout."""
