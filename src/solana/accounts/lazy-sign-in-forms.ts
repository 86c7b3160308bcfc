import type { SignInForms } from "../../app/accounts/sign-in.ts";

// Not cached: modules load once anyway, and a failed load can be retried.
const open = async (): Promise<SignInForms> => (await import("./sign-in-forms.ts")).signInForms;

/** Loads the sign-in forms and their libraries on first use: tool calls do not need them. */
export const lazySignInForms: SignInForms = {
  textOf: async (input, address) => (await open()).textOf(input, address),
  transactionOf: async (text, address) => (await open()).transactionOf(text, address),
  readTransaction: async (transaction, address) => (await open()).readTransaction(transaction, address),
};
