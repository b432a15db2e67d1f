"""What every test shares."""

import hypothesis

# Machines are shared and noisy: no example is judged by the time it takes.
hypothesis.settings.register_profile("busy machine", deadline=None)
hypothesis.settings.load_profile("busy machine")
