"""What the journals say, remembered as rows: each view folds commits and stores them with its position."""
