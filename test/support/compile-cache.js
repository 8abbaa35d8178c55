/** Loaded before each test file: code that another one has compiled is not compiled again. */
import module from "node:module";

module.enableCompileCache();
