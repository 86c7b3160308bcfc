import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CreateKeyRequestSchema } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { MOST_USD, parseUsd } from "../../format.ts";

/** What is filled in for a new key, as it was typed. */
export interface NewKeyForm {
  name: string;
  scopes: readonly string[];
  perCall: string;
  perDay: string;
  /** Days until it ends; empty: never; `date`: at {@link NewKeyForm.endDate}. */
  ends: string;
  /** A day in UTC, as a date field has it. */
  endDate: string;
  /** Whether only {@link NewKeyForm.tools} may be called. */
  someTools: boolean;
  tools: readonly string[];
}

/** What is wrong with a field. */
export type Faults = Partial<Record<"name" | "scopes" | "perCall" | "perDay" | "endDate" | "tools", string>>;

/** How long keys last, as a choice. */
export const ENDS = [
  { value: "", label: "Never" },
  { value: "1", label: "In a day" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "date", label: "On a day …" },
] as const;

/** What stands in the fields of a key with those rights before anyone typed. */
export function emptyForm(scopes: readonly string[]): NewKeyForm {
  return { name: "", scopes, perCall: "", perDay: "", ends: "", endDate: "", someTools: false, tools: [] };
}

/** What is wrong with what was filled in. */
export function faultsOf(form: NewKeyForm, now: Date): Faults {
  const faults: Faults = {};
  if (form.name.trim() === "") faults.name = "Give it a name to recognise it by";
  if (form.scopes.length === 0) faults.scopes = "Choose at least one: a key that may do nothing is of no use";
  for (const limit of ["perCall", "perDay"] as const) {
    const amount = parseUsd(form[limit]);
    if (form[limit].trim() !== "" && (amount === undefined || amount === 0n))
      faults[limit] =
        "An amount above zero in dollars, such as 0.25, with at most six decimals; empty for none";
    else if (amount !== undefined && amount > MOST_USD)
      faults[limit] = "At most $1,000,000,000; empty for none";
  }
  if (form.ends === "date" && !(endOf(form, now) > now)) faults.endDate = "Choose a day from today on";
  if (form.someTools && form.tools.length === 0) faults.tools = "Choose at least one tool, or allow all";
  return faults;
}

/** The request for such a key. */
export function requestOf(form: NewKeyForm, now: Date): MessageInitShape<typeof CreateKeyRequestSchema> {
  const [perCall, perDay] = [parseUsd(form.perCall), parseUsd(form.perDay)];
  return {
    name: form.name.trim(),
    scopes: [...form.scopes],
    limits: {
      ...(perCall !== undefined && { callUsdcMicrousd: perCall }),
      ...(perDay !== undefined && { dayUsdcMicrousd: perDay }),
      ...(form.ends !== "" && { expiresAt: timestampFromDate(endOf(form, now)) }),
      tools: form.someTools ? [...form.tools] : [],
    },
  };
}

/** When the key ends: that many days from now, or with the end of the chosen day, UTC. An invalid date where none was chosen. */
function endOf({ ends, endDate }: NewKeyForm, now: Date): Date {
  if (ends !== "date") return new Date(now.getTime() + Number(ends) * 86_400_000);
  return new Date(new Date(`${endDate}T00:00:00Z`).getTime() + 86_400_000);
}
