"""The generated regions of README.md and docs/: a module for each page, with its REGIONS: name -> function that makes the text."""
