"""What a night found is delivered: to chats, on-call services and mail. A delivery that fails costs nothing else."""
