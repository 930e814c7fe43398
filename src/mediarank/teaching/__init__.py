"""What people say: feedback and labels."""
