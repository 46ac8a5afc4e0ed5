# Agreement of two partitions, for comparisons.

# The adjusted Rand index of Hubert and Arabie (1985).
adjusted_rand <- function(a, b) {
  counts <- table(a, b)
  pairs <- function(n) sum(n * (n - 1) / 2)
  together <- pairs(counts)
  rows <- pairs(rowSums(counts))
  columns <- pairs(colSums(counts))
  expected <- rows * columns / pairs(sum(counts))
  if (rows == columns && rows == together) return(1)
  (together - expected) / ((rows + columns) / 2 - expected)
}

# Mutual information over the mean of the two entropies.
normalised_information <- function(a, b) {
  joint <- table(a, b) / length(a)
  entropy <- function(p) -sum(p[p > 0] * log(p[p > 0]))
  both <- entropy(rowSums(joint)) + entropy(colSums(joint))
  if (both == 0) return(1)
  max(2 * (both - entropy(joint)) / both, 0)
}
