"""Methods compared from the same starts: trials, registry, results, pictures."""
