# Puts the settings that the program itself tells into its manual page.
#   cmake -DPROGRAM=... -DIN=... -DOUT=... -DPROJECT_VERSION=... -P settings.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${PROGRAM} serve --help-man OUTPUT_VARIABLE settings COMMAND_ERROR_IS_FATAL ANY)
file(READ ${IN} page)
string(REPLACE ".so_settings\n" "${settings}" page "${page}")
string(REPLACE "@PROJECT_VERSION@" "${PROJECT_VERSION}" page "${page}")
file(WRITE ${OUT} "${page}")
