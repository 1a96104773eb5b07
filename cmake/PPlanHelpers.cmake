# Functions that keep the component CMakeLists.txt files to a few lines each.

# pplan_add_library(PPlanFoo SOURCES a.cpp ... [LINK lib ...] [DEPENDS tablegen-target ...])
# A static library of the compiler. LLVM and MLIR come as their two shared libraries.
function(pplan_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;DEPENDS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PUBLIC ${ARG_LINK} MLIR LLVM)
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
endfunction()

# pplan_add_unittest(FooTests SOURCES a.cpp ... [LINK lib ...]) : a GoogleTest binary known to ctest.
function(pplan_add_unittest name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} GTest::gtest GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/test/bin)
  add_test(NAME ${name} COMMAND ${name})
  set_property(GLOBAL APPEND PROPERTY PPLAN_TEST_TARGETS ${name})
endfunction()
