// The names of the run-time's elements, by standard, which the build reads from the server's table.
declare module "*/cmi.toml" {
  const names: { "1.2": string[]; "2004": string[] };
  export default names;
}
