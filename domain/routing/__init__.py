"""What a stimulus starts and resumes."""
