"""The probabilities that detection rests on: tails, expectations, noise, onsets and false-alarm rates."""
