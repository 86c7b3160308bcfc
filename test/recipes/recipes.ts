/** A contributor's change: the text of a new file, or an edit of an existing one. */
export interface Recipe {
  /** Its heading in CONTRIBUTING.md. */
  readonly heading: string;
  /** Most files outside test/ that it may touch. */
  readonly places: number;
  readonly files: Readonly<Record<string, string | ((text: string) => string)>>;
}

/** Inserts a text before the only occurrence of a mark. */
function before(mark: string, text: string): (file: string) => string {
  return (file) => {
    if (file.split(mark).length !== 2) throw new Error(`is not there exactly once: ${mark}`);
    return file.replace(mark, () => text + mark);
  };
}

const both = (one: (file: string) => string, other: (file: string) => string) => (file: string) =>
  other(one(file));

export const RECIPES: readonly Recipe[] = [
  {
    heading: "Add a built-in paid tool",
    places: 2,
    files: {
      "src/tools/word-count.ts": `import { z } from "zod";
import { builtIn } from "./built-in.ts";
import { defineTool } from "./define-tool.ts";

/** Counts the words of a text. */
export const wordCount = builtIn({
  name: "word_count",
  docs: { price: "flat", does: "counts words" },
  prices: { flat_microusd: { default: 500, description: "Price of a count" } },
  make: (_deps, prices) =>
    defineTool({
      name: "word_count",
      description: "Counts the words of a text.",
      scope: "compute:read",
      params: z.strictObject({ text: z.string().max(10_000).describe("Text to count") }),
      price: prices.flat_microusd,
      run: ({ text }) => ({ words: text.split(/\\s+/).filter((word) => word !== "").length }),
    }),
});
`,
      "src/tools/index.ts": both(
        before("import { vramEstimate }", 'import { wordCount } from "./word-count.ts";\n'),
        before("\n];\n\n/** Names of the built-in tools", "\n  wordCount,"),
      ),
      "test/tools/word-count.test.ts": `import { expect, it } from "vitest";
import { wordCount } from "../../src/tools/word-count.ts";
import { NO_DEPS } from "./no-deps.ts";
import { call, refusalOf } from "./tool-context.ts";

const tool = wordCount.make(NO_DEPS, { flat_microusd: 500n });

it("word_count counts words at its fixed price", async () => {
  expect(tool.prepare({ text: "a b" }).price).toBe(500n);
  expect(await call(tool, '{"text":" one two  three"}')).toEqual({ words: 3 });
  expect(refusalOf(tool, "{}")).toBe("INVALID_REQUEST params.text: is required, a string");
});
`,
    },
  },
  {
    heading: "Add a route",
    places: 2,
    files: {
      "proto/toolgate/v1/receipt_service.proto": both(
        before(
          "  // Returns one of the caller's receipts.",
          `  // Returns the caller's newest receipt. NOT_FOUND if there is none.
  rpc GetLatestReceipt(GetLatestReceiptRequest) returns (GetLatestReceiptResponse) {
    option idempotency_level = NO_SIDE_EFFECTS;
    option (google.api.http) = {
      get: "/latest-receipt"
      response_body: "receipt"
    };
    option (httpjson.v1.operation) = {
      errors: "FORBIDDEN"
      errors: "NOT_FOUND"
    };
  }

`,
        ),
        before(
          "// Selects a page of receipts.",
          `// Has no members.
message GetLatestReceiptRequest {}

// The newest receipt.
message GetLatestReceiptResponse {
  // The receipt.
  Receipt receipt = 1;
}

`,
        ),
      ),
      "src/transport/services/calls/receipt-service.ts": before(
        "    async getReceipt(",
        `    async getLatestReceipt(_request, { caller: { accountId } }) {
      const query = { accountId, limit: 1, cursor: undefined, status: undefined };
      const { items } = await receipts.list(query);
      return { receipt: receiptMessage(found(items[0], "receipt")) };
    },
`,
      ),
    },
  },
  {
    heading: "Add an error code",
    places: 1,
    files: {
      "proto/toolgate/v1/api.proto": before(
        '  errors: {\n    code: "PAYMENT_PENDING"',
        `  errors: {
    code: "TOOL_BUSY"
    status: 503
    grpc: "UNAVAILABLE"
    meaning: "The tool has no free slot; nothing was charged."
  }
`,
      ),
    },
  },
  {
    heading: "Add a payment method",
    places: 2,
    files: {
      // Filled in by the test: the voucher of test/app/payments, which the tests of the seam run.
      "src/app/payments/voucher/voucher-method.ts": "",
      "src/gateway/payment-methods.ts": both(
        before(
          "\nexport interface PaymentPorts",
          `import { voucherMethod } from "../app/payments/voucher/voucher-method.ts";\n`,
        ),
        before(
          "    transferMethod(ports),",
          "    voucherMethod({ secret: Buffer.alloc(32), now: () => 0, revoked: () => false }),\n",
        ),
      ),
    },
  },
  {
    heading: "Add a page of the console",
    places: 2,
    files: {
      "src/console/pages/tools.tsx": `import { useCatalogue } from "../rpc.ts";
import { Card, Page } from "../ui/index.ts";
import { QueryResult } from "./query-result.tsx";

/** The tools for sale. */
export function ToolsPage() {
  const query = useCatalogue();
  return (
    <Page title="Tools">
      <QueryResult query={query}>
        {({ tools }) => <Card title="For sale">{tools.map(({ name }) => name).join(", ")}</Card>}
      </QueryResult>
    </Page>
  );
}
`,
      "src/console/routes.ts": before(
        '  {\n    path: "/settings",',
        `  {
    path: "/tools",
    page: lazyComponent(() => import("./pages/tools.tsx"), "ToolsPage"),
    nav: { label: "Tools", icon: "list" },
  },
`,
      ),
    },
  },
  {
    heading: "Add a column of receipts",
    places: 5,
    files: {
      "src/postgres/database/sql/migrations/NNNN_receipt_asset.sql":
        "alter table receipt add column asset text not null default 'USDC';\n",
      "src/postgres/database/entities/calls.ts": before(
        "    debited:",
        '    asset: p.text().default("USDC"),\n',
      ),
      "src/domain/calls/receipt.ts": both(
        before("  refunded: MicroUsd;", "  asset?: string;\n"),
        before('  txSignature: "tx_signature",', '  asset: "asset",\n'),
      ),
      "proto/toolgate/v1/receipt.proto": before(
        "}\n\n// Source of the money",
        "  // Currency of the charge.\n  string asset = 13;\n",
      ),
      "src/console/pages/activity/receipts.tsx": before(
        '{ head: "Payment method"',
        '{ head: "Currency", cell: ({ item }) => item.asset },\n    ',
      ),
    },
  },
];
