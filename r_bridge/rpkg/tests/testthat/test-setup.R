test_that("ewp_available and ewp_doctor say what is there", {
  skip_without_python()
  expect_true(ewp_available())
  about <- ewp_doctor()
  expect_s3_class(about, "ewp_doctor")
  expect_null(about$problem)
  expect_match(about$python[["ewp-kmeans"]], "^[0-9]+[.][0-9]+")
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

test_that("an interactive R is asked nothing, and is told once what to do", {
  told <- in_interactive_r(c(
    "library(ewp)", "found <- tryCatch(ewp(iris[, 1:4], 3), error = function(e) e)", "n <- 'typed'",
    "cat('CLASS:', class(found)[1], '\\n')", "cat('TYPED:', n, '\\n')", "cat(conditionMessage(found), '\\n')"
  ))
  expect_true("CLASS: ewp_no_python " %in% told, info = told)
  expect_true("TYPED: typed " %in% told, info = told)
  expect_false(any(grepl("Y/n|download|Miniconda", told)), info = told)
  expect_true(any(grepl("ewp_install()", told, fixed = TRUE)), info = told)
})

test_that("every wrong Python ends in one condition that says what is wrong, and in nothing else", {
  folder <- normalizePath(new_folder())
  on.exit(unlink(folder, recursive = TRUE))
  script <- file.path(folder, "script")
  writeLines(c("#!/bin/sh", "exit 1"), script)
  text <- file.path(folder, "text")
  writeLines("text", text)
  Sys.chmod(script)
  dir.create(file.path(folder, "empty"))
  wrong <- c("there is no such file" = "/no/python/here", "not a Python that runs" = script,
             "not a Python that runs" = text, "a folder without a Python" = file.path(folder, "empty"))
  for (i in seq_along(wrong)) {
    told <- in_fresh_r(env = paste0("RETICULATE_PYTHON=", shQuote(wrong[[i]])), c(
      "library(ewp)", "found <- tryCatch(ewp(iris[, 1:4], 3), error = function(e) e)",
      "cat(class(found)[1], conditionMessage(found), sep = '\\n')"
    ))
    expect_identical(told[1], "ewp_no_python", info = told)
    expect_match(told[2], names(wrong)[i], fixed = TRUE)
    expect_match(told[3], "^Run ewp_install")
    expect_identical(length(told), 3L, info = told)
  }
})

test_that("a folder called ewp and a Python without NumPy are named", {
  python <- Sys.which("python3")
  if (!nzchar(python)) skip("python3 is not there")
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE))
  bare <- file.path(folder, "bare")
  made <- suppressWarnings(system2(python, c("-m", "venv", "--without-pip", shQuote(bare)), stdout = TRUE, stderr = TRUE))
  if (!file.exists(file.path(bare, "bin", "python"))) skip("environments cannot be made here")
  dir.create(file.path(folder, "ewp"))
  told <- in_fresh_r(
    env = c(paste0("RETICULATE_PYTHON=", shQuote(file.path(bare, "bin", "python"))), "PYTHONPATH="),
    c(sprintf("setwd(%s)", encodeString(folder, quote = "'")), "library(ewp)",
      "cat(tryCatch(ewp(iris[, 1:4], 3), error = conditionMessage))")
  )
  expect_false(any(grepl("invalid version", told)), info = told)
  expect_true(any(grepl("ewp_install", told)), info = told)
  expect_true(any(grepl("a folder called ewp|too old|could not be started", told)), info = told)
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
  local_function("create_environment", function(envname, python) {
    asked$env <<- envname
    TRUE
  })
  local_function("install_into", function(envname, packages) asked$packages <<- packages)
  local_function("environment_python", function(envname) "the/python")
  folder <- new_folder()
  file.create(file.path(folder, "pyproject.toml"))
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
  expect_error(ewp_install("ewp-kmeans", envname = NA), "envname")
})

test_that("a mistyped path is refused before an environment is made", {
  local_function("create_environment", function(...) stop("not reached"))
  expect_error(ewp_install("./no/such/folder"), "is not there: there is no such file or folder")
  expect_error(ewp_install("ewp_kmeans-0.2.0-py3-none-any.whl"), "is not there")
  folder <- new_folder()
  on.exit(unlink(folder, recursive = TRUE), add = TRUE)
  expect_error(ewp_install(folder), "without pyproject.toml")
})

test_that("an environment that pip could not fill is removed, and one that was there is kept", {
  removed <- NULL
  local_function("remove_environment", function(envname) removed <<- envname)
  local_function("install_into", function(...) stop("no such distribution"))
  local_function("create_environment", function(...) TRUE)
  expect_error(ewp_install("ewp-kmeams"), "could not install \"ewp-kmeams\": no such distribution")
  expect_identical(removed, "r-ewp")
  removed <- NULL
  local_function("create_environment", function(...) FALSE)
  expect_error(ewp_install("ewp-kmeams"), "could not install")
  expect_null(removed)
})

test_that("the package says to a reticulate that knows how what it needs", {
  declared <- NULL
  declare <- function(packages, python_version) declared <<- packages
  old <- options(ewp.source = NULL)
  on.exit(options(old))
  before <- Sys.getenv(c("RETICULATE_PYTHON", "EWP_SOURCE"), unset = NA)
  Sys.unsetenv(names(before))
  on.exit(restore_variables(before), add = TRUE)
  expect_true(declare_python(declare))
  expect_identical(declared, c("ewp-kmeans", "pandas<3"))
  expect_false(declare_python(NULL))
  options(ewp.source = tempdir())
  declare_python(declare)
  expect_match(declared[1], "^ewp-kmeans @ file:///")
  options(ewp.source = "git+https://example.org/ewp")
  declare_python(declare)
  expect_identical(declared[1], "git+https://example.org/ewp")
  declared <- NULL
  Sys.setenv(RETICULATE_PYTHON = "some/python")
  expect_false(declare_python(declare))
  expect_null(declared)
})

test_that("citation names the paper and the software, with years", {
  told <- gsub("[[:space:]]+", " ", format(citation("ewp"), style = "text"))
  expect_length(told, 2)
  expect_match(told[1], "Chakraborty.*2020.*volume 108.*691-701")
  expect_match(told[2], "ewp developers.*20[0-9][0-9]")
})

test_that("an installed package that was built has its vignette", {
  found <- vignette(package = "ewp")$results
  if (!file.exists(system.file("doc", package = "ewp"))) skip("this package was installed without being built")
  expect_identical(unname(found[, "Item"]), "ewp")
})
