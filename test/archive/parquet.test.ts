import { describe, expect, it } from "vitest";
import { decodeRows, encodeRows } from "../../src/archive/parquet.ts";

const columns = [
  { name: "id", type: "uuid" },
  { name: "text", type: "text" },
  { name: "small", type: "integer" },
  { name: "amount", type: "bigint" },
  { name: "at", type: "timestamp" },
  { name: "bytes", type: "bytes" },
] as const;

describe("rows in a Parquet file", () => {
  it("come back as PostgreSQL wrote them", async () => {
    const rows = [
      {
        id: "019de5fc-2400-760a-a931-73e00bad5e4a",
        text: 'é \u0001 \u{1f600} "quoted" \\ \n',
        small: "-2147483648",
        amount: "9223372036854775807",
        at: "2026-05-02 00:00:01.234567+00",
        bytes: "\\x00ff10",
      },
      {
        id: "00000000-0000-0000-0000-000000000000",
        text: "",
        small: "0",
        amount: "-1",
        at: "1969-12-31 23:59:59.9+00",
        bytes: "\\x",
      },
      { id: null, text: null, small: null, amount: null, at: null, bytes: null },
      { id: null, text: null, small: null, amount: null, at: "2026-05-02 00:00:01+00", bytes: null },
    ];
    expect(await decodeRows(columns, encodeRows(columns, rows))).toEqual(rows);
  });

  it("refuse a time of another zone, and a file that is damaged", async () => {
    const row = { at: "2026-05-02 00:00:01+02" };
    expect(() => encodeRows([columns[4]], [row])).toThrow("cannot archive the time");
    await expect(decodeRows(columns, Buffer.from("PAR1 and nothing else PAR1"))).rejects.toThrow();
  });
});
