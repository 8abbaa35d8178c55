/** The store that several instances share keeps the stores' contract. What only it promises is in the tests beside this one. */
import { it } from "node:test";
import { SHARED_DEFAULTS } from "../src/store/open.ts";
import { openPostgres } from "../src/store/postgres/open.ts";
import { silentLog } from "../src/telemetry/log.ts";
import { Telemetry } from "../src/telemetry/telemetry.ts";
import { type OpenForTest, storeContract } from "./store-contract.ts";
import { ownSchema, testPostgres } from "./support/postgres-server.ts";
import { observe } from "./support/store-subject.ts";

const { skip, server } = await testPostgres();

if (server) {
  const open: OpenForTest = async (t, clock) => {
    const url = await ownSchema(t, server);
    const reopen = async () => {
      const telemetry = new Telemetry(silentLog);
      const store = observe(
        await openPostgres(
          url,
          { ...SHARED_DEFAULTS, graceMs: 0, isNotifying: false },
          clock,
          telemetry,
          () => clock.now(),
        ),
        clock,
      );
      t.after(() => store.close());
      return store;
    };
    return { store: await reopen(), reopen };
  };
  storeContract("postgres store", open, true);
} else it("keeps the stores' contract", { skip }, () => {});
