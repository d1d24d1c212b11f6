# sb_layer(NAME SOURCES ... LINKS ...): one static library per layer, sb_NAME.
#
# LINKS are the layers and packages that it may use; they are what its include rule allows.

add_library(sb_flags INTERFACE)
target_compile_features(sb_flags INTERFACE c_std_11)
target_compile_definitions(sb_flags INTERFACE _GNU_SOURCE)
target_compile_options(
  sb_flags
  INTERFACE -Wall
            -Wextra
            -Wshadow
            -Wconversion
            -Wstrict-prototypes
            -Wformat=2
            -Wimplicit-fallthrough
            -fno-omit-frame-pointer
            -fstack-protector-strong)
target_include_directories(sb_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/server)

function(sb_finish_flags)
  if(SB_WERROR)
    target_compile_options(sb_flags INTERFACE -Werror)
  endif()
  if(SB_SANITIZE)
    target_compile_options(sb_flags INTERFACE -fsanitize=${SB_SANITIZE} -fno-sanitize-recover=all)
    target_link_options(sb_flags INTERFACE -fsanitize=${SB_SANITIZE})
  endif()
  if(SB_FUZZ)
    target_compile_options(sb_flags INTERFACE -fsanitize=fuzzer-no-link)
  endif()
endfunction()
cmake_language(DEFER CALL sb_finish_flags)

function(sb_layer name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS" ${ARGN})
  add_library(sb_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(sb_${name} PUBLIC sb_flags ${ARG_LINKS})
endfunction()

# sb_test(NAME SOURCES ... LINKS ... [LABELS ...]): a cmocka program that is one ctest.
function(sb_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINKS;LABELS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE sb_flags ${ARG_LINKS} cmocka)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}" TIMEOUT 300)
endfunction()
