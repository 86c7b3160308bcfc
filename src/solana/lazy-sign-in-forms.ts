import type { SignInForms } from "../app/accounts/sign-in-forms.ts";

// Not kept: modules are loaded once anyway, and one that could not be loaded now may be later.
const open = async (): Promise<SignInForms> => (await import("./sign-in-forms.ts")).signInForms;

/** What people are given to sign when they sign in, imported with the libraries that write and read it when somebody first does: calls need none of it. */
export const lazySignInForms: SignInForms = {
  textOf: async (input, address) => (await open()).textOf(input, address),
  transactionOf: async (text, address) => (await open()).transactionOf(text, address),
  readTransaction: async (transaction, address) => (await open()).readTransaction(transaction, address),
};
