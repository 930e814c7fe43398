"""What people say: the journal of labels and feedback, review queues, and learning one name at once."""
