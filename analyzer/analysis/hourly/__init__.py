"""The check of single hours: what they bring, held against the same hours of the days before."""
