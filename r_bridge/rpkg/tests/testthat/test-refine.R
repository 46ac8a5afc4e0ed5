# Three clusters of different spread and direction, and a column of noise.
unequal <- function(n = 150) {
  set.seed(3)
  group <- rep(1:3, length.out = n)
  spread <- rbind(c(0.4, 0.4), c(2, 0.5), c(0.5, 2))[group, ]
  center <- rbind(c(0, 0), c(6, 0), c(0, 6))[group, ]
  x <- cbind(matrix(rnorm(2 * n), n) * spread, rnorm(n))
  x[, 2] <- x[, 2] + c(0, 0.8, -0.8)[group] * x[, 1]
  x[, 1:2] <- x[, 1:2] + center
  dimnames(x) <- list(paste0("row", seq_len(n)), c("a", "b", "noise"))
  x
}

unequal_fit <- local({
  fit <- NULL
  function() {
    skip_without_python()
    if (is.null(fit)) fit <<- ewp(unequal(), 3, lambda = 30, scale = TRUE, seed = 1)
    fit
  }
})

test_that("ewp_refine gives Python's mixture", {
  fit <- unequal_fit()
  x <- unequal()
  found <- ewp_refine(fit, x)
  expect_s3_class(found, c("ewp_refine", "list"), exact = TRUE)
  python <- in_python(x = x, c(
    "f = ewp.fit(X, 3, 30.0, scale='standard', random_state=1).refine()",
    "show('labels', f.labels); show('probabilities', f.probabilities); show('means', f.means)",
    "show('fit', [f.bic, f.icl, f.log_likelihood, f.gain, f.gain_se, f.moved_share])",
    "show('df', f.n_parameters); show('covariance', f.covariance_matrix(1))",
    "show('share', f.proportions); show('difference', f.candidates['difference'])"
  ))
  expect_identical(unname(found$cluster), as.integer(python$labels) + 1L)
  expect_identical(names(found$cluster), rownames(x))
  expect_equal(as.vector(t(found$probabilities)), python$probabilities, tolerance = 1e-10)
  expect_identical(dimnames(found$probabilities), list(rownames(x), c("1", "2", "3")))
  expect_equal(as.vector(t(found$centers)), python$means, tolerance = 1e-10)
  expect_equal(with(found, c(bic, icl, loglik, gain, gain_se, moved)), python$fit, tolerance = 1e-10)
  expect_equal(found$df, python$df)
  expect_equal(unname(found$proportions), python$share)
  expect_identical(found$model, "full")
  expect_equal(as.vector(found$covariance[, , "2"]), python$covariance, tolerance = 1e-10)
  expect_equal(found$candidates$difference, python$difference, tolerance = 1e-8)
  expect_identical(found$original, fit$cluster)
  expect_identical(found$size, tabulate(found$cluster, 3))
  expect_identical(dim(logLik(found)), NULL)
  expect_equal(BIC(found), found$bic)
  expect_identical(nobs(found), 150L)
})

test_that("refined clusters predict without Python, for every kind of mixture", {
  fit <- unequal_fit()
  x <- unequal()
  for (model in c("spherical", "diagonal", "tied", "full")) for (tails in c("normal", "t")) {
    found <- ewp_refine(fit, x, covariance = model, tails = tails)
    expect_identical(found$model, model)
    expect_identical(is.finite(found$df.t), tails == "t")
    expect_equal(predict(found, x, type = "probability"), found$probabilities, tolerance = 1e-10)
    expect_identical(predict(found, x[150:1, 3:1]), rev(found$cluster))
    # variances of the columns in the units of the data
    variances <- switch(model, full = t(apply(found$covariance, 3, diag)), tied = diag(found$covariance),
                        found$covariance)
    expect_true(all(variances > 0.02 & variances < 8))
  }
  expect_identical(predict(found), found$cluster)
  expect_identical(predict(found, type = "probability"), found$probabilities)
  expect_identical(dim(predict(found, x[1, , drop = FALSE], "probability")), c(1L, 3L))
  expect_error(predict(found, x[, 1:2]), "newdata lacks 1 column")

  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(list(found = found, x = x), file)
  seen <- in_fresh_r(c(
    sprintf("one <- readRDS(%s)", encodeString(file, quote = "\"")), "library(ewp)",
    "found <- predict(one$found, one$x)", "invisible(capture.output(print(one$found), print(summary(one$found))))",
    "cat(identical(found, one$found$cluster), reticulate::py_available(initialize = FALSE))"
  ), env = "RETICULATE_PYTHON=/nowhere/python")
  expect_identical(utils::tail(seen, 1L), "TRUE FALSE")
})

test_that("rounded and weighted rows, formulas and rows left out are refined as they are fitted", {
  skip_without_python()
  frame <- data.frame(round(unequal(), 1), group = rep(c("a", "b"), 75))
  frame$a[4] <- NA
  fit <- ewp(~ . - group, frame, 3, lambda = 30, scale = TRUE, seed = 1, na.action = na.exclude,
             sample_weight = rep(1:2, 75))
  found <- ewp_refine(fit, frame)
  expect_true(any(found$coordinates$cell > 0))
  expect_equal(predict(found, frame[-4, ], "probability"), found$probabilities, tolerance = 1e-10,
               ignore_attr = TRUE)
  expect_true(is.na(predict(found)[4]))
  expect_equal(found$n, sum(rep(1:2, 75)[-4]))
})

test_that("features of a refinement can be named, and refusals are in R's words", {
  fit <- unequal_fit()
  x <- unequal()
  found <- ewp_refine(fit, x, covariance = "tied", features = "b")
  expect_identical(found$features$feature[found$features$used], "b")
  expect_identical(dim(found$covariance), c(1L, 1L))
  expect_equal(predict(found, x, "probability"), found$probabilities, tolerance = 1e-10)
  expect_error(ewp_refine(fit, x, features = "d"), "features: no column is called d")
  expect_error(ewp_refine(fit, x, features = 1), "names of columns")
  expect_error(ewp_refine(fit, x, covariance = "EEE"), "covariance")
  expect_error(ewp_refine(fit, x, tails = 5), "tails")
  expect_error(ewp_refine(fit, x, proportions = "none"), "proportions")
  expect_error(ewp_refine(fit, x + 1), "not the data of the fit")
  expect_error(ewp_refine(ewp(x, 1, lambda = 30, scale = TRUE, seed = 1), x), "one cluster")
})

test_that("print, summary, plot and broom's verbs show a refinement", {
  fit <- unequal_fit()
  x <- unequal()
  found <- ewp_refine(fit, x)
  expect_output(print(found), "Refined clusters: normal mixture, full covariances")
  expect_output(print(found), sprintf("BIC %.6g, ICL %.6g", found$bic, found$icl), fixed = TRUE)
  summarised <- summary(found)
  expect_equal(sum(summarised$moves), 150)
  expect_output(print(summarised), "Mixtures that were scored")
  drawing(expect_invisible(plot(found)))
  other <- found
  other$refined <- FALSE
  expect_output(print(other), "it is kept")
  if (requireNamespace("ggplot2", quietly = TRUE)) expect_s3_class(ggplot2::autoplot(found), "ggplot")
  skip_if_not_installed("generics")
  tidied <- generics::tidy(found)
  expect_named(tidied, c("a", "b", "size", "proportion", "uncertainty", "cluster"))
  expect_equal(tidied$size, found$size)
  expect_equal(generics::glance(found)$BIC, found$bic)
  augmented <- generics::augment(found, x)
  expect_identical(as.integer(augmented$.cluster), unname(found$cluster))
  expect_equal(augmented$.uncertainty, 1 - unname(apply(found$probabilities, 1, max)), tolerance = 1e-8)
  expect_error(generics::augment(found), "data is missing")
  expect_false(any(grepl("_", c(names(tidied), names(generics::glance(found))))))
})
