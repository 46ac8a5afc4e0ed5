noise <- function(n = 80, p = 3) {
  set.seed(7)
  matrix(rnorm(n * p), n, p)
}

# Without the warning, for what comes after it.
quietly <- function(expr) withCallingHandlers(expr, ewp_no_clusters = function(w) invokeRestart("muffleWarning"))

test_that("noise has no evidence for clusters: a warning of its own, the first lines, plain data", {
  skip_without_python()
  x <- noise()
  told <- list()
  fit <- withCallingHandlers(ewp(x, 3, seed = 1), warning = function(w) {
    told <<- c(told, list(w))
    invokeRestart("muffleWarning")
  })
  expect_length(told, 1L)
  expect_s3_class(told[[1L]], c("ewp_no_clusters", "warning", "condition"), exact = TRUE)
  expect_identical(conditionMessage(told[[1L]]), fit$evidence$words)
  expect_match(fit$evidence$words, "^No evidence for more than one cluster")
  expect_warning(ewp(x, 3, seed = 1), class = "ewp_no_clusters")
  expect_identical(tryCatch(ewp(x, 3, seed = 1), ewp_no_clusters = function(w) "caught"), "caught")

  expect_named(fit$evidence, c("clear", "gain", "se", "of_box", "words"))
  expect_false(fit$evidence$clear)
  python <- in_python(x = x, c(
    "import warnings; warnings.simplefilter('ignore')",
    "r = ewp.fit(X, 3, random_state=1); e = r.selection['evidence']",
    "show('gain', e['gain']); show('se', e['error'])"
  ))
  expect_equal(fit$evidence$gain, python$gain, tolerance = 1e-10)
  expect_equal(fit$evidence$se, python$se, tolerance = 1e-10)
  # what k parts of a uniform distribution gain
  expect_equal(fit$evidence$of_box, 0.0759 * log2(3))

  shown <- capture.output(print(fit))
  expect_match(shown[2L], "^no evidence for more than one cluster [(]held-out log-density")
  summarised <- capture.output(print(summary(fit)))
  expect_identical(summarised[1L], "Entropy weighted power k-means: no evidence for more than one cluster")
  expect_true(fit$evidence$words %in% summary(fit)$notes)

  file <- tempfile(fileext = ".rds")
  on.exit(unlink(file))
  saveRDS(fit, file)
  expect_identical(capture.output(print(readRDS(file))), shown)
  expect_equal(as_ewp(as_results(fit, as_data_matrix(x)), list(x = as_data_matrix(x)), 1, fit$call)$evidence,
               fit$evidence)
})

test_that("groups have evidence, and a penalty that was given asks nothing", {
  skip_without_python()
  x <- groups(90, 3)
  expect_no_warning <- function(expr) expect_warning(expr, NA)
  expect_no_warning(fit <- ewp(x, 3, seed = 1))
  expect_true(fit$evidence$clear)
  expect_false(any(grepl("no evidence", c(capture.output(print(fit)), capture.output(print(summary(fit)))))))
  expect_output(print(summary(fit)), "gain over 1 cluster: ")
  expect_true(any(grepl("in nats", summary(fit)$notes)))
  expect_null(ewp(x, 3, lambda = 5, scale = FALSE, seed = 1)$evidence)
  expect_null(ewp(x, 1, seed = 1)$evidence)
  expect_false(any(grepl("gain over", capture.output(print(summary(iris_fit()))))))
})

test_that("ewp_select_lambda tells of noise, and its print does", {
  skip_without_python()
  expect_warning(
    chosen <- ewp_select_lambda(noise(), 2, nlambda = 2, cv = 3, scale = TRUE, seed = 1),
    class = "ewp_no_clusters"
  )
  expect_match(capture.output(print(chosen))[2L], "^no evidence for more than one cluster")
})

test_that("ewp_select_k says that one cluster is enough, and which numbers were tried", {
  skip_without_python()
  expect_warning(
    chosen <- ewp_select_k(noise(), 3:1, nlambda = 2, cv = 3, scale = TRUE, seed = 1), NA
  )
  expect_identical(chosen$k, 1L)
  expect_identical(chosen$table$evidence, rep(FALSE, 3))
  expect_false(chosen$evidence)
  expect_true(chosen$complete)
  expect_identical(length(chosen$fit$size), 1L)
  expect_match(capture.output(print(chosen))[1L], "no evidence for more than one cluster$")
  expect_output(print(chosen), "There is no evidence for more than one cluster.", fixed = TRUE)
  expect_false(any(grepl("that was tried", capture.output(print(chosen)))))
  if (requireNamespace("generics", quietly = TRUE)) {
    expect_true("evidence" %in% names(generics::tidy(chosen)))
  }
})

test_that("ewp_select_k tries 1 to 8 by default and says where its number is at the end", {
  skip_without_python()
  x <- groups(60, 3)
  options <- list(nlambda = 2, cv = 2, scale = FALSE, dispersion = "within", seed = 4)
  chosen <- do.call(ewp_select_k, c(list(quote(x)), options))
  expect_identical(chosen$table$k, 1:8)
  expect_identical(chosen$k, 3L)
  expect_true(chosen$evidence)
  expect_true(is.na(chosen$table$separation[1L]) && chosen$table$separation[3L] > 0.038)
  expect_output(print(chosen), "separation: log-density that held-out rows of two", fixed = TRUE)
  expect_false(any(grepl("that was tried", capture.output(print(chosen)))))
  few <- do.call(ewp_select_k, c(list(quote(x), ks = 1:3), options))
  expect_output(print(few), "3 is the largest number that was tried: more may be better.", fixed = TRUE)
  expect_output(print(few), "evidence: whether held-out rows speak", fixed = TRUE)
  least <- do.call(ewp_select_k, c(list(quote(x), k = 3:4), options))
  expect_output(print(least), "3 is the smallest number that was tried", fixed = TRUE)
  expect_equal(do.call(ewp_select_k, c(list(quote(x), centers = 1:3), options))$table, few$table)
  stable <- do.call(ewp_select_k, c(list(quote(x), 2:3, criterion = "stability"), options))
  expect_null(stable$evidence)
  expect_false(any(grepl("evidence", capture.output(print(stable)))))
  expect_error(ewp_select_k(x, 2:3, k = 2:4), "ks and k are names of the same argument")
})
