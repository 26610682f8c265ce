"""What a program does about a classified error, and the events it leaves."""
