import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { CreateKeyRequestSchema } from "#gen/toolgate/console/v1/key_service_pb.ts";
import { MAX_USD } from "../../format.ts";
import { parseAmount, type AmountRange } from "../deposit/amount.ts";

/** The form's values as typed. */
export interface NewKeyForm {
  name: string;
  scopes: readonly string[];
  perCall: string;
  perDay: string;
  /** Days until expiry; empty: never; `date`: at {@link NewKeyForm.expiryDate}. */
  expires: string;
  /** A UTC day, as a date input has it. */
  expiryDate: string;
  /** Whether only {@link NewKeyForm.tools} are allowed. */
  onlySelectedTools: boolean;
  tools: readonly string[];
}

/** Error messages by field. */
export type FieldErrors = Partial<
  Record<"name" | "scopes" | "perCall" | "perDay" | "expiryDate" | "tools", string>
>;

/** Options of the expiry select. */
export const EXPIRY_OPTIONS = [
  { value: "", label: "Never" },
  { value: "1", label: "In 1 day" },
  { value: "7", label: "In 7 days" },
  { value: "30", label: "In 30 days" },
  { value: "90", label: "In 90 days" },
  { value: "date", label: "On a date…" },
] as const;

/** Of a limit per call or per day. */
const LIMIT_RANGE: AmountRange = [1n, MAX_USD];

/** Returns an empty form with these scopes. */
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

/** Returns the errors of the form; empty if it is valid. */
export function validate(form: NewKeyForm, now: Date): FieldErrors {
  const fieldErrors: FieldErrors = {};
  if (form.name.trim() === "") fieldErrors.name = "Enter a name";
  if (form.scopes.length === 0) fieldErrors.scopes = "Select at least one permission";
  for (const limit of ["perCall", "perDay"] as const) {
    const amount = parseAmount(form[limit], LIMIT_RANGE);
    if (form[limit].trim() !== "" && "problem" in amount) fieldErrors[limit] = amount.problem;
  }
  if (form.expires === "date" && !(expiryOf(form, now) > now))
    fieldErrors.expiryDate = "Choose today or a later day";
  if (form.onlySelectedTools && form.tools.length === 0)
    fieldErrors.tools = "Select at least one tool, or allow all tools";
  return fieldErrors;
}

/** Converts a valid form to a request. */
export function toRequest(form: NewKeyForm, now: Date): MessageInitShape<typeof CreateKeyRequestSchema> {
  const [perCall, perDay] = [limitOf(form.perCall), limitOf(form.perDay)];
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

function limitOf(text: string): bigint | undefined {
  const amount = parseAmount(text, LIMIT_RANGE);
  return "microUsd" in amount ? amount.microUsd : undefined;
}

/** Returns the expiry: days from now, or the end of the chosen UTC day. Invalid Date if no day is chosen. */
function expiryOf({ expires, expiryDate }: NewKeyForm, now: Date): Date {
  if (expires !== "date") return new Date(now.getTime() + Number(expires) * 86_400_000);
  return new Date(new Date(`${expiryDate}T00:00:00Z`).getTime() + 86_400_000);
}
