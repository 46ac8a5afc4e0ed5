test_that("ewp_available and ewp_doctor say what is there", {
  skip_without_python()
  expect_true(ewp_available())
  about <- ewp_doctor()
  expect_s3_class(about, "ewp_doctor")
  expect_null(about$problem)
  expect_match(about$python[["ewp (Python)"]], "^[0-9]+[.][0-9]+")
  expect_output(print(about), "Everything is there")
})

test_that("loading the package starts no Python", {
  told <- in_fresh_r(c(
    "library(ewp)", "cat('running:', reticulate::py_available(initialize = FALSE), '\\n')"
  ))
  expect_true("running: FALSE " %in% told, info = told)
})

test_that("without Python the answer is FALSE, and the error says what to do", {
  told <- in_fresh_r(env = "RETICULATE_PYTHON=/no/python/here", c(
    "library(ewp)", "cat('available:', ewp_available(), '\\n')",
    "cat(tryCatch(ewp(iris[, 1:4], 3), error = conditionMessage))", "print(ewp_doctor())"
  ))
  expect_true("available: FALSE " %in% told, info = told)
  expect_true(any(grepl("ewp_install(", told, fixed = TRUE)), info = told)
  expect_true(any(grepl("RETICULATE_PYTHON", told)), info = told)
  expect_true(any(grepl("^Problem: ", told)), info = told)
})

test_that("another package of the same name is recognised", {
  skip_without_python()
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  writeLines("name = 'not the one'", file.path(folder, "ewp.py"))
  python <- reticulate::py_config()$python
  told <- in_fresh_r(
    env = c(paste0("PYTHONPATH=", shQuote(folder)), paste0("RETICULATE_PYTHON=", shQuote(python))),
    c("library(ewp)", "cat('available:', ewp_available(), '\\n')", "print(ewp_doctor())")
  )
  expect_true("available: FALSE " %in% told, info = told)
  expect_true(any(grepl("another package of the same name", told)), info = told)
})

test_that("NumPy 2 with an old reticulate is named as the problem", {
  skip_without_python()
  local_function("needs_old_numpy", function() TRUE)
  local_function("python_version_of", function(name) "2.1.0")
  expect_match(find_problem(), "needs numpy<2")
})

test_that("ewp_install makes an environment that reticulate can use", {
  asked <- list()
  local_function("create_environment", function(envname, python) asked$env <<- envname)
  local_function("install_into", function(envname, packages) asked$packages <<- packages)
  local_function("environment_python", function(envname) "the/python")
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE), add = TRUE)
  expect_message(path <- ewp_install(folder, extra = "joblib"), "Installed")
  expect_identical(path, "the/python")
  expect_identical(asked$env, "r-ewp")
  expect_identical(asked$packages[1], normalizePath(folder))
  expect_true(all(c("pandas<3", "joblib") %in% asked$packages))
  expect_identical("numpy<2" %in% asked$packages, needs_old_numpy())
})

test_that("ewp_install refuses the bare name and what is no source", {
  local_function("create_environment", function(...) stop("not reached"))
  for (name in c("ewp", "ewp==0.1.0", "ewp[r]", "ewp >= 1")) {
    expect_error(ewp_install(name), "another package")
  }
  expect_error(ewp_install(""), "source is missing")
  expect_error(ewp_install(NULL), "source is missing")
  expect_error(ewp_install(3), "source is missing")
  expect_error(ewp_install(tempdir(), envname = NA), "envname")
})

test_that("a source that the user names is declared to a reticulate that knows how", {
  declared <- NULL
  declare <- function(packages, python_version) declared <<- packages
  old <- options(ewp.source = NULL)
  on.exit(options(old))
  before <- Sys.getenv(c("RETICULATE_PYTHON", "EWP_SOURCE"), unset = NA)
  Sys.unsetenv(names(before))
  on.exit(do.call(Sys.setenv, as.list(before[!is.na(before)])), add = TRUE)
  expect_false(declare_source(declare))
  options(ewp.source = tempdir())
  expect_true(declare_source(declare))
  expect_match(declared, "^ewp @ file:///")
  expect_false(declare_source(NULL))
  options(ewp.source = "git+https://example.org/ewp")
  declare_source(declare)
  expect_identical(declared, "git+https://example.org/ewp")
  Sys.setenv(RETICULATE_PYTHON = "some/python")
  expect_false(declare_source(declare))
  Sys.unsetenv("RETICULATE_PYTHON")
})
