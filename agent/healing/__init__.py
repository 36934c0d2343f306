"""What changes the cloud's allocations, and puts them back: each change in the journal before it is made."""
