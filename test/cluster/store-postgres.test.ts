/**
 * The store that several instances share keeps the stores' contract. What only it promises is in the tests
 * beside this one.
 */
import { describe, it } from "node:test";
import { clockedPostgres } from "../support/clocked-postgres.ts";
import { testPostgres } from "../support/postgres-server.ts";
import { type OpenForTest, storeContract } from "../unit/store/store-contract.ts";

const { skip, server } = await testPostgres();

if (server) {
  const open: OpenForTest = async (t, clock) => {
    const { open: reopen, poison } = await clockedPostgres(t, server, clock);
    return { store: await reopen(), reopen, poison };
  };
  storeContract("postgres store", open, true, 3);
} else describe("postgres store", () => void it("keeps the contract of stores", { skip }, () => {}));
