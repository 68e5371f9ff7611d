"""Score a class: many submissions, their table and page, late days, likeness, leaderboards."""
