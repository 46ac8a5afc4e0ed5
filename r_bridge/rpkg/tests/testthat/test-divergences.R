# Counts of rows whose sizes differ, in three groups; columns of other kinds beside.
counted_rows <- function(n = 90, p = 10) {
  set.seed(3)
  group <- rep(1:3, length.out = n)
  mean <- matrix(15, 3, p)
  mean[1, 1:3] <- 40
  mean[2, 3:5] <- 40
  mean[3, 5:6] <- 2
  size <- exp(runif(n, log(0.4), log(2.5)))
  x <- matrix(rnbinom(n * p, size = 10, mu = size * mean[group, ]), n, p)
  dimnames(x) <- list(paste0("row", seq_len(n)), paste0("gene", seq_len(p)))
  list(x = x, group = group, size = size)
}

mixed_rows <- function(n = 90) {
  set.seed(5)
  group <- rep(1:3, length.out = n)
  data.frame(
    height = rnorm(n, c(0, 2, 4)[group]), visits = rpois(n, c(0, 4, 9)[group]),
    smoker = rbinom(n, 1, c(0, 1, 0.5)[group]), cost = rgamma(n, 5, 5 / c(1, 3, 9)[group]), noise = rpois(n, 3)
  )
}

MIXED <- c(cost = "gamma", visits = "poisson", smoker = "bernoulli", noise = "poisson")

sized_fit <- function(offset = "size", ...) {
  skip_without_python()
  ewp(counted_rows()$x, 3, lambda = 150, divergence = "poisson", offset = offset, seed = 1, ...)
}

same_groups <- function(cluster, group) sum(apply(table(cluster, group), 1L, max)) / length(group) > 0.9

test_that("groups of counts are found whatever the sizes of the rows", {
  fit <- sized_fit()
  found <- counted_rows()
  expect_true(same_groups(fit$cluster, found$group))
  expect_identical(unname(fit$divergence), rep("poisson", 10))
  sizes <- rowSums(found$x) / mean(rowSums(found$x))
  sums <- rowsum(found$x, fit$cluster) / as.vector(rowsum(sizes, fit$cluster))
  expect_equal(unname(fit$centers), unname(sums), tolerance = 1e-6)
})

test_that("predictions need no Python and are Python's, for all divergences", {
  skip_without_python()
  binary <- (counted_rows()$x > 15) * 1
  frame <- mixed_rows()
  fits <- list(
    list(sized_fit(), counted_rows()$x),
    list(ewp(counted_rows()$x, 3, lambda = 100, divergence = "poisson", seed = 1), counted_rows()$x),
    list(ewp(counted_rows()$x + 1, 3, lambda = 5, divergence = "gamma", seed = 1), counted_rows()$x + 1),
    list(ewp(binary, 3, lambda = 10, divergence = "bernoulli", seed = 1), binary),
    list(ewp(frame, 3, lambda = 30, divergence = MIXED, scale = TRUE, seed = 1), as.matrix(frame))
  )
  for (pair in fits) {
    fit <- pair[[1]]
    x <- pair[[2]]
    expect_identical(unname(predict(fit, x)), unname(fit$cluster))
    python <- from_python(as_results(fit, x)$transform(to_array(unname(x))))
    expect_equal(unname(predict(fit, x, type = "distance")), python, tolerance = 1e-6)
    file <- tempfile()
    saveRDS(fit, file)
    expect_identical(predict(readRDS(file), x), predict(fit, x))
  }
  # some centres lie at the ends of their domains
  expect_true(any(fits[[4]][[1]]$centers %in% 0:1) || any(fits[[5]][[1]]$centers[, "smoker"] %in% 0:1))
})

test_that("the predictions of squared differences would be others", {
  fit <- sized_fit()
  plain <- fit
  plain$metric$families <- NULL
  expect_false(identical(predict(plain, counted_rows()$x), predict(fit, counted_rows()$x)))
})

test_that("a row that was counted twice as long is in the same cluster", {
  fit <- sized_fit()
  x <- counted_rows()$x
  expect_identical(predict(fit, 2 * x), predict(fit, x))
  expect_error(predict(fit, x, offset = counted_rows()$size), "leave offset out")
  x[4, ] <- 0
  expect_error(predict(fit, x), "1 row without any count.*row4")
  x[4, 2] <- -3
  expect_error(predict(fit, x), "gene2 has -3 in row row4; the fit was to such values alone")
})

test_that("sizes of one's own are asked for", {
  found <- counted_rows()
  fit <- sized_fit(found$size)
  expect_error(predict(fit, found$x[1:5, ]), "sizes of their own")
  expect_identical(predict(fit, found$x[1:5, ], offset = found$size[1:5]), fit$cluster[1:5])
  expect_error(predict(fit, found$x[1:5, ], offset = found$size), "for each of the 5 rows")
  expect_identical(as.integer(augment.ewp(fit, found$x)$.cluster), unname(fit$cluster))
  new <- augment.ewp(fit, newdata = found$x[1:5, ], offset = found$size[1:5])
  expect_identical(as.integer(new$.cluster), unname(fit$cluster[1:5]))
  skip <- c(2, 7)
  part <- ewp(found$x, 3, lambda = 150, divergence = "poisson", offset = found$size, seed = 1, subset = -skip)
  again <- ewp(found$x[-skip, ], 3, lambda = 150, divergence = "poisson", offset = found$size[-skip], seed = 1)
  expect_equal(part$centers, again$centers)
  expect_identical(ewp_refit(fit, found$x)$cluster, fit$cluster)
})

test_that("data frames and formulas have divergences of their columns", {
  skip_without_python()
  frame <- mixed_rows()
  fit <- ewp(frame, 3, lambda = 30, divergence = MIXED, scale = TRUE, seed = 1)
  again <- ewp(~ ., frame, k = 3, lambda = 30, divergence = as.list(MIXED), scale = TRUE, seed = 1)
  expect_identical(fit$divergence, c(height = "euclidean", MIXED[c("visits", "smoker", "cost", "noise")]))
  expect_identical(unname(fit$cluster), unname(again$cluster))
  expect_identical(unname(predict(again, frame)), unname(fit$cluster))
  counts <- as.data.frame(counted_rows()$x)
  formula <- ewp(~ ., counts, k = 3, lambda = 150, divergence = "poisson", offset = "size", seed = 1)
  expect_identical(unname(formula$cluster), unname(sized_fit()$cluster))
  expect_identical(unname(predict(formula, counts)), unname(formula$cluster))
  expect_error(ewp(~ gene1 + offset(log(gene2)), counts, k = 3), "the formula has offset\\(\\)")
})

test_that("summary, pictures and shares speak of divergences", {
  fit <- sized_fit()
  results <- as_results(fit, counted_rows()$x)
  told <- paste(capture.output(print(summary(fit)), print(fit)), collapse = " ")
  expect_match(told, "Divergence: poisson")
  expect_match(told, "row totals over their mean")
  expect_no_match(told, "quares")
  shares <- feature_shares(fit)
  python <- reticulate::import("ewp.display.fit_summary", convert = FALSE)$variance_explained(results)
  expect_equal(unname(shares), from_vector(python))
  expect_gt(shares[["gene1"]], shares[["gene9"]])
  expect_silent(drawing(plot(fit, "clusters", counted_rows()$x)))
  expect_silent(drawing(plot(sized_fit(counted_rows()$size), "clusters", counted_rows()$x)))
})

test_that("selections, grids, bootstrap, stability and the critical exponent take them", {
  skip_without_python()
  x <- counted_rows()$x
  grid <- ewp_lambda_path(x, 3, nlambda = 3, divergence = "poisson", offset = "size")
  expect_length(grid, 3)
  expect_false(isTRUE(all.equal(grid, ewp_lambda_path(x, 3, nlambda = 3))))
  expect_lt(critical_exponent(x, divergence = "poisson"), 0.5)
  found <- ewp_select_lambda(x, 3, lambda = c(50, 150), divergence = "poisson", offset = "size", seed = 1)
  expect_true(same_groups(found$fit$cluster, counted_rows()$group))
  expect_s3_class(ewp_bootstrap(sized_fit(), x, n_boot = 40, seed = 1), "ewp_bootstrap")
  expect_s3_class(ewp_stability(sized_fit(), x, seed = 1), "ewp_stability")
  expect_s3_class(ewp_profile(sized_fit(), x), "ewp_profile")
})

test_that("what is for squared differences alone is refused, not computed with these", {
  fit <- sized_fit()
  x <- counted_rows()$x
  expect_error(ewp_refine(fit, x), "squared differences")
  expect_error(ewp_test_features(fit, x), "squared differences")
  expect_error(ewp_test_differences(fit, x), "squared differences")
  expect_error(ewp_consistency(fit, x), "squared differences")
  expect_error(as_sparcl(fit), "squared differences")
  expect_error(ewp_compare(x, 3, divergence = "poisson"), "squared differences")
})

test_that("errors name columns and rows as R does", {
  x <- counted_rows()$x
  ask <- function(x, ...) ewp(x, 3, lambda = 10, ...)
  x[7, 2] <- -1
  expect_error(ask(x, divergence = "poisson"), "gene2 has -1 in row row7")
  x[7, 2] <- NA
  expect_error(ask(x, divergence = "poisson", na.action = na.pass), "needs whole rows")
  x[7, 2] <- 0
  expect_error(ask(x, divergence = "gamma"), "above 0")
  expect_error(ask(x, divergence = "normal"), "is unknown")
  expect_error(ask(x, divergence = c(gene99 = "poisson")), "\"gene99\", which is no column")
  expect_error(ask(x, divergence = c("poisson", "gamma")), "2 families for 10 columns")
  expect_error(ask(x, divergence = 2), "is no divergence")
  expect_error(ask(x, offset = "size"), "offset is for counts")
  expect_error(ask(x, divergence = "poisson", offset = "total"), "is unknown")
  expect_error(ask(x, divergence = "poisson", offset = log(counted_rows()$size)), "not their logarithms")
  x[3, ] <- 0
  expect_error(ask(x, divergence = "poisson", offset = "size"), "1 row without any count.*row3")
})
