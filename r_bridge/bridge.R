# What the Python side calls. `call_quietly` runs one function and contains it: what it prints, its
# messages, warnings and errors come back as data, and the random numbers of the session go on as if
# nothing had been called. Nothing here is assigned outside this file's own environment.

# Functions of this file that stand for a package's function of the same name.
own <- environment()

# The state of R's random numbers, as a function that brings it back.
random_state <- function() {
    kinds <- RNGkind()
    seed <- get0(".Random.seed", envir = globalenv(), inherits = FALSE)
    function() {
        if (is.null(seed)) {
            suppressWarnings(do.call(RNGkind, as.list(kinds)))
            rm(".Random.seed", envir = globalenv())
        } else {
            assign(".Random.seed", seed, envir = globalenv())
        }
    }
}

# The names of its own arguments begin with a dot, so as not to catch one of the function's.
call_quietly <- function(.package, .name, .seed, ...) {
    arguments <- list(...)
    said <- file("", open = "w+", encoding = "UTF-8")
    outputs <- sink.number()
    restore_random_state <- random_state()
    on.exit({
        while (sink.number() > outputs) sink()
        close(said)
        restore_random_state()
    })
    sink(said)

    warned <- character()
    failure <- NULL
    run <- function() {
        if (!requireNamespace(.package, quietly = TRUE)) {
            failure <<- c("missing", .package)
            return(NULL)
        }
        fun <- own[[.name]]
        if (is.null(fun)) fun <- getExportedValue(.package, .name)
        if (!is.null(.seed)) set.seed(.seed, "Mersenne-Twister", "Inversion", "Rejection")
        # Called with names, not values: an error or match.call() must not carry the whole data.
        call <- as.call(c(fun, sapply(names(arguments), as.name, simplify = FALSE)))
        eval(call, list2env(arguments, parent = baseenv()))
    }
    value <- withCallingHandlers(
        tryCatch(
            run(),
            error = function(e) {
                failure <<- c("error", conditionMessage(e))
                NULL
            },
            interrupt = function(i) {
                failure <<- c("interrupt", "")
                NULL
            }
        ),
        warning = function(w) {
            warned <<- c(warned, conditionMessage(w))
            invokeRestart("muffleWarning")
        },
        message = function(m) {
            cat(conditionMessage(m))
            invokeRestart("muffleMessage")
        }
    )
    while (sink.number() > outputs) sink()
    console <- paste(readLines(said, warn = FALSE), collapse = "\n")
    list(
        value = value, failure = as.character(failure), warnings = enc2utf8(warned),
        console = console
    )
}

# Sparse hierarchical clustering without what grows with the square of the rows times the columns.
HierarchicalSparseCluster <- function(...) {
    found <- sparcl::HierarchicalSparseCluster(..., silent = TRUE)
    list(
        merge = found$hc$merge, height = found$hc$height, order = found$hc$order,
        ws = as.vector(found$ws), u = unname(found$u), crit = found$crit, wbound = found$wbound
    )
}

add_library <- function(path) {
    .libPaths(union(.libPaths(), path))
    NULL
}

# Called as a function of any package: the package is loaded by then.
loaded <- function() NULL
