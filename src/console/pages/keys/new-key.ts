import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CreateKeyRequestSchema } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { MAX_USD, parseUsd } from "../../format.ts";

/** What is filled in for a new key, as it was typed. */
export interface NewKeyForm {
  name: string;
  scopes: readonly string[];
  perCall: string;
  perDay: string;
  /** Days until it ends; empty: never; `date`: at {@link NewKeyForm.expiryDate}. */
  expires: string;
  /** A day in UTC, as a date field has it. */
  expiryDate: string;
  /** Whether only {@link NewKeyForm.tools} may be called. */
  onlySelectedTools: boolean;
  tools: readonly string[];
}

/** What is wrong with a field. */
export type FieldErrors = Partial<
  Record<"name" | "scopes" | "perCall" | "perDay" | "endDate" | "tools", string>
>;

/** How long keys last, as a choice. */
export const EXPIRY_OPTIONS = [
  { value: "", label: "Never" },
  { value: "1", label: "In a day" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "date", label: "On a day …" },
] as const;

/** What stands in the fields of a key with those rights before anyone typed. */
export function emptyForm(scopes: readonly string[]): NewKeyForm {
  return {
    name: "",
    scopes,
    perCall: "",
    perDay: "",
    expires: "",
    expiryDate: "",
    onlySelectedTools: false,
    tools: [],
  };
}

/** What is wrong with what was filled in. */
export function validate(form: NewKeyForm, now: Date): FieldErrors {
  const fieldErrors: FieldErrors = {};
  if (form.name.trim() === "") fieldErrors.name = "Give it a name to recognise it by";
  if (form.scopes.length === 0)
    fieldErrors.scopes = "Choose at least one: a key that may do nothing is of no use";
  for (const limit of ["perCall", "perDay"] as const) {
    const amount = parseUsd(form[limit]);
    if (form[limit].trim() !== "" && (amount === undefined || amount === 0n))
      fieldErrors[limit] =
        "An amount above zero in dollars, such as 0.25, with at most six decimals; empty for none";
    else if (amount !== undefined && amount > MAX_USD)
      fieldErrors[limit] = "At most $1,000,000,000; empty for none";
  }
  if (form.expires === "date" && !(expiryOf(form, now) > now))
    fieldErrors.endDate = "Choose a day from today on";
  if (form.onlySelectedTools && form.tools.length === 0)
    fieldErrors.tools = "Choose at least one tool, or allow all";
  return fieldErrors;
}

/** The request for such a key. */
export function toRequest(form: NewKeyForm, now: Date): MessageInitShape<typeof CreateKeyRequestSchema> {
  const [perCall, perDay] = [parseUsd(form.perCall), parseUsd(form.perDay)];
  return {
    name: form.name.trim(),
    scopes: [...form.scopes],
    limits: {
      ...(perCall !== undefined && { callUsdcMicrousd: perCall }),
      ...(perDay !== undefined && { dayUsdcMicrousd: perDay }),
      ...(form.expires !== "" && { expiresAt: timestampFromDate(expiryOf(form, now)) }),
      tools: form.onlySelectedTools ? [...form.tools] : [],
    },
  };
}

/** When the key ends: that many days from now, or with the end of the chosen day, UTC. An invalid date where none was chosen. */
function expiryOf({ expires: ends, expiryDate: endDate }: NewKeyForm, now: Date): Date {
  if (ends !== "date") return new Date(now.getTime() + Number(ends) * 86_400_000);
  return new Date(new Date(`${endDate}T00:00:00Z`).getTime() + 86_400_000);
}
