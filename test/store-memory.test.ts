/** The store without a disk keeps the stores' contract. */
import { storeContract } from "./store-contract.ts";
import { openFor } from "./support/store-subject.ts";

storeContract(
  "memory store",
  async (t, clock) => ({ store: await openFor(t, "memory:", clock) }),
  false,
  200,
);
