/**
 * The embedded store keeps the contract of stores. The properties of a file are in the tests beside this one.
 */
import { join } from "node:path";
import { openFor, poisonFile, temporaryFolder } from "../../support/store-subject.ts";
import { type OpenForTest, storeContract } from "./store-contract.ts";

const open: OpenForTest = async (t, clock) => {
  const path = join(await temporaryFolder(t), "new", "relay.db");
  const reopen = () => openFor(t, `sqlite:${path}`, clock);
  return { store: await reopen(), reopen, poison: async (id) => poisonFile(path, id) };
};

storeContract("sqlite store", open, true, 5);
