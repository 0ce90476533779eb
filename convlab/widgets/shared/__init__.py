"""What all widgets share: traits that check, controls and grids in JavaScript, and the still of each."""
