test_that("measures of agreement have their known values", {
  expect_equal(adjusted_rand(c(1, 1, 2, 2), c("b", "b", "a", "a")), 1)
  expect_equal(adjusted_rand(c(1, 1, 2, 2), c(1, 2, 1, 2)), -0.5)
  expect_equal(adjusted_rand(rep(1, 4), 1:4), 0)
  expect_equal(normalised_information(c(1, 1, 2, 2), c(2, 2, 1, 1)), 1)
  expect_equal(normalised_information(c(1, 1, 2, 2), c(1, 2, 1, 2)), 0)
  skip_without_python()
  metrics <- reticulate::import("sklearn.metrics")
  set.seed(2)
  a <- sample(4, 60, TRUE)
  b <- ifelse(runif(60) < 0.7, a, sample(4, 60, TRUE))
  expect_equal(adjusted_rand(a, b), metrics$adjusted_rand_score(a, b))
  expect_equal(normalised_information(a, b), metrics$normalized_mutual_info_score(a, b))
})

test_that("ewp_compare starts all methods from the same centers", {
  skip_without_python()
  x <- groups()
  truth <- rep(1:3, length.out = 90)
  compared <- ewp_compare(x, 3, truth, lambda = 5, scale = FALSE, wbound = 1.4, seed = 6)
  expect_s3_class(compared, c("ewp_compare", "list"), exact = TRUE)
  expect_equal(compared$table$ari[1], 1)
  expect_identical(compared$table$method[1:2], c("EWP", "k-means"))
  expect_identical(compared$fits$EWP$cluster,
                   ewp(x, compared$centers, lambda = 5, scale = FALSE, seed = 6)$cluster)
  expect_equal(compared$fits$`k-means`$centers, kmeans(x, compared$centers, 100)$centers)
  expect_equal(unname(colSums(compared$weights)), rep(1, ncol(compared$weights)))
  expect_equal(unname(diag(compared$agreement)), rep(1, ncol(compared$weights)))
  expect_output(print(compared), "same starting centers")
  drawing(expect_invisible(plot(compared)))
  given <- ewp_compare(x, compared$centers, lambda = 5, scale = FALSE, wbound = 1.4, seed = 6)
  expect_identical(given$clusters, compared$clusters)
  expect_false("ari" %in% names(given$table))
})

test_that("sparcl itself is called, with a bound that is given or chosen", {
  skip_without_python()
  skip_if_not_installed("sparcl")
  x <- groups()
  compared <- ewp_compare(x, 3, lambda = 5, scale = TRUE, wbound = 1.4, seed = 6)
  z <- sweep(x, 2, compared$fits$EWP$metric$scale, "/")
  start <- sweep(compared$centers, 2, compared$fits$EWP$metric$scale, "/")
  direct <- sparcl::KMeansSparseCluster(z, wbounds = 1.4, centers = start, silent = TRUE)[[1]]
  expect_equal(compared$fits$`sparse k-means`$ws, direct$ws)
  expect_equal(compared$fits$`sparse k-means`$Cs, direct$Cs)
  chosen <- ewp_compare(x, 3, lambda = 5, nperms = 3, seed = 6)
  expect_gt(chosen$fits$`sparse k-means`$wbound, 1)
})

test_that("a method that is missing or fails is noted and does not end the comparison", {
  skip_without_python()
  x <- groups()
  local_function("fit_sparcl", function(...) stop("empty cluster"))
  compared <- ewp_compare(x, 3, lambda = 5, seed = 6)
  if (requireNamespace("sparcl", quietly = TRUE)) {
    expect_match(compared$notes, "sparse k-means failed: empty cluster")
  } else {
    expect_match(compared$notes, "sparcl is not installed")
  }
  expect_identical(compared$table$method, c("EWP", "k-means"))
})

test_that("a seed leaves R's own generator where it was", {
  skip_without_python()
  x <- groups()
  set.seed(9)
  before <- .Random.seed
  ewp_compare(x, 3, lambda = 5, wbound = 1.4, seed = 6)
  expect_identical(.Random.seed, before)
})

test_that("ewp_compare refuses what makes no sense", {
  expect_error(ewp_compare(iris, 3), "Species")
  expect_error(ewp_compare(numbers), "k is missing")
  expect_error(ewp_compare(numbers, 3, truth = 1:3), "truth")
  expect_error(ewp_compare(numbers, 3, wbound = 0.5), "wbound")
  expect_error(ewp_compare(numbers, 3, nperms = 1), "nperms")
  expect_error(ewp_compare(numbers[1:2, ], 3), "2 distinct rows")
})
