// The invitation stands behind the "#" of the address; it leaves the address at once.
const given = location.hash.slice(1);
if (given) {
  document.getElementById("invitation").value = given;
  history.replaceState(null, "", location.pathname);
  document.getElementById("password").focus();
}
