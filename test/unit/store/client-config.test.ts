/** What the URL of a PostgreSQL store says of TLS. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Client } from "pg";
import { clientConfig } from "../../../src/store/postgres/pools.ts";

const URL_BEGINS = "postgres://relay@db.example/relay";
const UNCHECKED = { rejectUnauthorized: false };

describe("the TLS mode in the URL of a store", () => {
  const rows: [query: string, ssl: unknown][] = [
    ["", false],
    ["?sslmode=disable", false],
    ["?sslmode=require", UNCHECKED],
    ["?sslmode=no-verify", UNCHECKED],
    ["?application_name=a&sslmode=no-verify&keepalives=1", UNCHECKED],
    ["?sslmode=no-verify&uselibpqcompat=false", UNCHECKED],
    ["?sslmode=verify-full", {}],
  ];
  for (const [query, ssl] of rows) {
    it(`${query || "that has none"}: ${JSON.stringify(ssl)}`, () => {
      assert.deepEqual(new Client(clientConfig(`${URL_BEGINS}${query}`)).ssl, ssl);
    });
  }
});
