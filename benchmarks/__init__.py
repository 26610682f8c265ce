"""Speed, measured beside what one would write instead. Not part of the package, and no test: machines differ."""
