# Outputs of fpc::clusterboot with k-means, together with every resample it clustered.
# Run: Rscript fpc.R > fpc.json
suppressPackageStartupMessages(library(fpc))

set.seed(1)
groups <- rep(1:5, times = c(30, 20, 15, 8, 1))
centres <- rbind(matrix(rnorm(8, sd = 2), 4, 2), c(30, 30))
x <- round(centres[groups, ] + matrix(rnorm(2 * length(groups), sd = 0.9), ncol = 2), 4)
# The first column is the row's own number, so that resamples can be recognised.
data <- cbind(seq_along(groups) - 1, x)

seen <- NULL
record <- function(data, k, ...) {
  found <- kmeans(data[, -1], k, nstart = 5)
  seen[[length(seen) + 1]] <<- list(rows = data[, 1], partition = found$cluster - 1)
  clusters <- lapply(seq_len(k), function(j) found$cluster == j)
  list(result = found, nc = k, clusterlist = clusters, partition = found$cluster,
       clustermethod = "recorded kmeans")
}

vector <- function(v, digits = 17) paste0("[", paste(format(v, digits = digits, trim = TRUE), collapse = ", "), "]")
matrix_of <- function(m) paste0("[", paste(apply(m, 1, vector), collapse = ", "), "]")

runs <- c()
for (scheme in c("boot", "subset")) {
  seen <- list()
  found <- clusterboot(data, B = 12, bootmethod = scheme, clustermethod = record, k = 5,
                       count = FALSE, seed = 7)
  results <- if (scheme == "boot") list(found$bootresult, found$bootmean, found$bootbrd, found$bootrecover)
             else list(found$subsetresult, found$subsetmean, found$subsetbrd, found$subsetrecover)
  first <- seen[[1]]
  resamples <- sapply(seen[-1], function(s)
    sprintf('{"rows": %s, "partition": %s}', vector(s$rows), vector(s$partition)))
  runs <- c(runs, sprintf('"%s": {"partition": %s, "resamples": [%s], "jaccard": %s, "mean": %s, "dissolved": %s, "recovered": %s}',
    scheme, vector(first$partition), paste(resamples, collapse = ", "), matrix_of(t(results[[1]])),
    vector(results[[2]]), vector(results[[3]]), vector(results[[4]])))
}
version <- as.character(packageVersion("fpc"))
cat(sprintf('{"fpc": "%s", %s}\n', version, paste(runs, collapse = ",\n ")))
