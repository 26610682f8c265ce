"""The statistics that the tests of families rest on: tails, rates, units with rises, onsets, and whose a rise is."""
