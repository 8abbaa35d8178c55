/** Loaded before each test file. */
import asyncHooks from "node:async_hooks";
import module from "node:module";

// Code that another process has compiled is not compiled again.
module.enableCompileCache();

// The test runner follows each promise to know the test that it belongs to, which takes a fifth of the time of tests
// without sockets. Without that, a rejection that nobody handles fails its file in place of its test.
const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });
