// The unit tests run in Node: what they test is pure.
import { defineConfig } from "vitest/config";

export default defineConfig({ test: { include: ["test/**/*.test.ts"], pool: "threads", testTimeout: 120_000 } });
