# Rscript install.R <package> <repository or "">: install a package of CRAN unless it is there.
# Prints "library:" and "version:", or "unreachable:" or "absent:" with the address.

asked <- commandArgs(trailingOnly = TRUE)
package <- asked[1]

answer <- function(library) {
    version <- as.character(utils::packageVersion(package, lib.loc = library))
    cat(sprintf("\nlibrary:%s\nversion:%s\n", library, version))
    quit(status = 0)
}

there <- suppressWarnings(find.package(package, quiet = TRUE))
if (length(there)) answer(dirname(there[1]))

repository <- if (length(asked) > 1 && nzchar(asked[2])) asked[2] else getOption("repos")["CRAN"]
if (is.na(repository) || repository == "@CRAN@") {
    utils::chooseCRANmirror(ind = 1, local.only = TRUE)
    repository <- getOption("repos")["CRAN"]
}
offered <- tryCatch(
    suppressWarnings(utils::available.packages(repos = repository, filters = list())),
    error = function(e) matrix(0, 0, 0)
)
if (!package %in% rownames(offered)) {
    cat(sprintf("\n%s:%s\n", if (nrow(offered)) "absent" else "unreachable", repository))
    quit(status = 1)
}

writable <- Filter(function(library) file.access(library, 2) == 0, .libPaths())
if (length(writable)) {
    target <- writable[1]
} else {
    target <- strsplit(Sys.getenv("R_LIBS_USER"), .Platform$path.sep)[[1]][1]
    dir.create(target, recursive = TRUE, showWarnings = FALSE)
}
utils::install.packages(package, lib = target, repos = repository, quiet = TRUE)
answer(target)
