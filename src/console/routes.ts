import { lazy, type ComponentType } from "react";

/** A page and its path below /console. */
interface PageRoute {
  /** A wouter pattern. */
  path: string;
  page: ComponentType;
}

/** All pages, each a chunk that loads on first use. Pages take no props: they read the URL. */
export const ROUTES: readonly PageRoute[] = [
  { path: "/", page: lazy(async () => ({ default: (await import("./pages/overview.tsx")).OverviewPage })) },
  {
    path: "/activity",
    page: lazy(async () => ({ default: (await import("./pages/activity.tsx")).ActivityPage })),
  },
  {
    path: "/receipts/:id",
    page: lazy(async () => ({ default: (await import("./pages/receipt.tsx")).ReceiptPage })),
  },
  { path: "/runs/:id", page: lazy(async () => ({ default: (await import("./pages/run.tsx")).RunPage })) },
  {
    path: "/deposit/:id?",
    page: lazy(async () => ({ default: (await import("./pages/deposit.tsx")).DepositPage })),
  },
  { path: "/keys", page: lazy(async () => ({ default: (await import("./pages/keys.tsx")).KeysPage })) },
  {
    path: "/playground",
    page: lazy(async () => ({ default: (await import("./pages/playground.tsx")).PlaygroundPage })),
  },
  {
    path: "/settings",
    page: lazy(async () => ({ default: (await import("./pages/settings.tsx")).SettingsPage })),
  },
  {
    path: "/operator",
    page: lazy(async () => ({ default: (await import("./pages/operator/operations.tsx")).OperationsPage })),
  },
  {
    path: "/operator/accounts",
    page: lazy(async () => ({ default: (await import("./pages/operator/accounts.tsx")).AccountsPage })),
  },
  {
    path: "/operator/accounts/:id",
    page: lazy(async () => ({ default: (await import("./pages/operator/account.tsx")).AccountPage })),
  },
  {
    path: "/operator/payments",
    page: lazy(async () => ({ default: (await import("./pages/operator/payments.tsx")).PaymentsPage })),
  },
  {
    path: "/operator/actions",
    page: lazy(async () => ({ default: (await import("./pages/operator/actions.tsx")).ActionsPage })),
  },
];
