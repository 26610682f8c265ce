"""A command as a group of processes: started, fed, listened to, ended."""
