# Three groups in one column each, among columns that are correlated with it.
correlated <- function(n = 90, p = 6) {
  set.seed(7)
  x <- matrix(rnorm(n * p), n, p) %*% chol(0.8^abs(outer(seq_len(p), seq_len(p), "-")))
  colnames(x) <- paste0("v", seq_len(p))
  for (j in 1:3) x[, 2 * j - 1] <- x[, 2 * j - 1] + 3 * (rep(1:3, length.out = n) == j)
  x
}

decorrelated_fit <- local({
  fit <- NULL
  function() {
    skip_without_python()
    if (is.null(fit)) fit <<- ewp(correlated(), 3, lambda = 90, scale = "decorrelate", seed = 1)
    fit
  }
})

test_that("clusters that correlation hides are found, and weights belong to columns", {
  fit <- decorrelated_fit()
  expect_identical(fit$scaling, "decorrelate")
  expect_identical(sum(apply(table(fit$cluster, rep(1:3, 30)), 1, max)), 90L)
  expect_setequal(names(sort(-fit$weights))[1:3], c("v1", "v3", "v5"))
  means <- t(sapply(1:3, function(j) colMeans(correlated()[fit$cluster == j, ])))
  expect_equal(unname(fit$centers), unname(means))
})

test_that("predictions are Python's, in this session and after saveRDS()", {
  fit <- decorrelated_fit()
  x <- correlated()
  expect_identical(unname(predict(fit, x)), unname(fit$cluster))
  results <- as_results(fit, x)
  python <- from_python(results$transform(to_array(unname(x[1:20, ]))))
  expect_equal(unname(predict(fit, x[1:20, ], type = "distance")), python)
  file <- tempfile()
  saveRDS(fit, file)
  expect_identical(predict(readRDS(file), x), predict(fit, x))
})

test_that("columns are uncorrelated, also where they outnumber the rows", {
  fit <- decorrelated_fit()
  z <- columns_of(fit, correlated())
  expect_lt(max(abs(cor(z)[upper.tri(diag(6))])), 0.2)
  expect_equal(column_variances(fit), colMeans(z^2))
  set.seed(1)
  wide <- matrix(rnorm(20 * 40), 20) %*% matrix(rnorm(1600), 40)
  wide[, 3] <- 1
  few <- ewp(wide, 2, lambda = 20, scale = "decorrelate:0.5", seed = 1)
  expect_identical(few$metric$decorrelation$shrinkage, 0.5)
  expect_identical(unname(predict(few, wide)), unname(few$cluster))
  z <- columns_of(few, wide)
  expect_equal(unname(column_variances(few)), colMeans(z^2))
})

test_that("sums of squares are those of the uncorrelated columns", {
  fit <- decorrelated_fit()
  z <- columns_of(fit, correlated())
  total <- sum(t(z^2) * fit$weights)
  expect_equal(fit$totss, total)
  within <- sum(t((z - columns_of(fit, fit$centers)[fit$cluster, ])^2) * fit$weights)
  expect_equal(fit$tot.withinss, within)
  view <- as_sparcl(fit)
  expect_equal(sum(fit$weights * view$wcss$wcss.perfeature), within)
})

test_that("what is asked after the fit knows its columns", {
  fit <- decorrelated_fit()
  x <- correlated()
  told <- capture.output(print(summary(fit)))
  expect_match(paste(told, collapse = " "), "which\\s+the other features\\s+do not\\s+explain")
  expect_identical(ewp_refit(fit, x, lambda = 80)$scaling, "decorrelate")
  booted <- ewp_bootstrap(fit, x, n_boot = 10, seed = 1)
  expect_s3_class(booted, "ewp_bootstrap")
  drawing(plot(fit, x, which = "clusters"))
  compared <- ewp_compare(x, 3, lambda = 90, scale = "decorrelate", seed = 1)
  expect_equal(compared$fits$EWP$scaling, "decorrelate")
})

test_that("a share of shrinkage is checked before Python is touched", {
  expect_identical(as_scaling("decorrelate"), "decorrelate")
  expect_identical(as_scaling("decorrelate:0.25"), "decorrelate:0.25")
  for (wrong in c("decorrelate:", "decorrelate:2", "decorrelate:much")) {
    expect_error(as_scaling(wrong), "no share by which correlations are shrunk")
  }
  expect_error(as_scaling("decorrelated"), "is unknown")
})
