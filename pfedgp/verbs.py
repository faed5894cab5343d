"""The verbs of the command line, in the order in which they are listed."""

from typing import NamedTuple

__all__ = ["VERBS", "Verb"]


class Verb(NamedTuple):
    """A verb of the command line; its module is imported only once it was chosen."""

    module: str
    summary: str
    example: str


VERBS = {
    "simulate": Verb(
        "pfedgp.commands.simulate",
        "train a federation of simulated clients on this machine",
        "pfedgp simulate --dataset digits --clients 20 --rounds 60 --seed 1 --set gp.sweeps=10",
    ),
    "deploy-local": Verb(
        "pfedgp.commands.deploy_local",
        "run the same app as separate Flower processes that talk gRPC on this machine",
        "pfedgp deploy-local --sites 3 --rounds 5",
    ),
    "key": Verb(
        "pfedgp.governance.key",
        "make a site's key pair, of which the private part stays at the site",
        "pfedgp key --name ward-3",
    ),
    "certs": Verb(
        "pfedgp.commands.certs",
        "make the certificates of a deployment, and register its sites",
        "pfedgp certs --san fl.example.org --san 192.0.2.10 --public-key ward-3.pub ward-7.pub --out certs",
    ),
    "server": Verb(
        "pfedgp.commands.server",
        "run the server of a deployment: sites connect to it over gRPC with TLS",
        "pfedgp server --certs certs --state /var/lib/pfedgp",
    ),
    "run": Verb(
        "pfedgp.commands.run",
        "start a federation on the server and follow it",
        "pfedgp run --state /var/lib/pfedgp --rounds 60 --set learning-rate=0.02",
    ),
    "evaluate": Verb(
        "pfedgp.commands.evaluate",
        "measure a trained model on the connected sites' own test data, without any training",
        "pfedgp evaluate --state /var/lib/pfedgp --model /var/lib/pfedgp/runs/night/best",
    ),
    "status": Verb(
        "pfedgp.commands.status",
        "show the server, its sites and its runs",
        "pfedgp status --state /var/lib/pfedgp",
    ),
    "dashboard": Verb(
        "pfedgp.commands.dashboard",
        "show the server, its sites and its runs on a page in the browser, and to Prometheus",
        "pfedgp dashboard --state /var/lib/pfedgp",
    ),
    "stop": Verb(
        "pfedgp.commands.stop",
        "stop a run, or the server",
        "pfedgp stop run-20260101-120000 --state /var/lib/pfedgp",
    ),
    "client": Verb(
        "pfedgp.commands.client",
        "run one site of a deployment on its own data",
        "pfedgp client --name ward-3 --superlink fl.example.org:9092 --ca ca.crt --key ward-3 --data ward-3/images",
    ),
    "policy": Verb(
        "pfedgp.governance.policy",
        "make or show what a site lets its server do",
        "pfedgp policy --state state --init",
    ),
    "approve": Verb(
        "pfedgp.governance.approve",
        "show what a run would send from this site, and let it in",
        "pfedgp approve 3f9c0a71b2d4e688 --state state",
    ),
    "audit": Verb(
        "pfedgp.governance.audit",
        "verify or show the audit log of a site, a server or a run",
        "pfedgp audit verify --state state",
    ),
    "withdraw": Verb(
        "pfedgp.governance.withdraw",
        "let a site leave its federation: delete its own part, and say what lies where",
        "pfedgp withdraw --state state --keep-classifier",
    ),
    "doctor": Verb(
        "pfedgp.commands.doctor",
        "find out why a site or a server of a deployment does not work, with a remedy for each problem",
        "pfedgp doctor --superlink fl.example.org:9092 --ca ca.crt --key ward-3 --state state --data ward-3/images",
    ),
    "resume": Verb(
        "pfedgp.commands.resume",
        "go on with a run that was cut off, from its last checkpoint",
        "pfedgp resume out/digits-full-20260101-120000",
    ),
    "report": Verb(
        "pfedgp.commands.report",
        "write one HTML file about a run: accuracy, calibration, every client",
        "pfedgp report out/digits-full-20260101-120000 --out report.html",
    ),
    "compare": Verb(
        "pfedgp.commands.compare",
        "show runs beside each other: settings that differ, results, each client's difference",
        "pfedgp compare out/first out/second --out comparison.html",
    ),
    "sweep": Verb(
        "pfedgp.commands.sweep",
        "run a simulation under many settings, and say which are best on validation data",
        "pfedgp sweep --rounds 20 --over learning-rate=0.02,0.05 --over gp.sweeps=3,5 --out sweeps/first",
    ),
    "verify": Verb(
        "pfedgp.commands.verify",
        "compare what this installation computes with reference values",
        "pfedgp verify tests/golden/golden_public.json --topic pg",
    ),
    "bench": Verb(
        "pfedgp.commands.bench",
        "measure what an update, or with --deploy a deployed round, costs on this machine",
        "pfedgp bench --variant full --classes 2 --n 400 800 --json bench.json",
    ),
    "experiment": Verb(
        "pfedgp.commands.experiment",
        "run a table of the paper, or one of ours, and write it with the paper's numbers",
        "pfedgp experiment table1_cifar10 --data-root cifar10.npz --columns c500 --budget 0.2",
    ),
    "initial": Verb(
        "pfedgp.commands.initial",
        "write the model before round 1, which sites onboard without any training",
        "pfedgp initial --network frozen:xray --backbone xray=xray.ts --data ward-3/images --out start",
    ),
    "onboard": Verb(
        "pfedgp.commands.onboard",
        "give a site its personal classifier from its own data and a trained model, without training",
        "pfedgp onboard --model out/my-run/best --data ward-3/images --out sites/ward-3",
    ),
    "predict": Verb(
        "pfedgp.commands.predict",
        "classify new samples with a site's classifier: probabilities and uncertainty as CSV",
        "pfedgp predict --site sites/ward-3 --data new/images --out predictions.csv --min-confidence 0.8",
    ),
    "learn": Verb(
        "pfedgp.living.learn",
        "let a site learn from new labelled samples, unless its answers on the former ones become worse",
        "pfedgp learn --site sites/ward-3 --data new/",
    ),
    "forget": Verb(
        "pfedgp.living.forget",
        "remove samples from a site's classifier, as if it had never had them",
        "pfedgp forget --site sites/ward-3 --group patient-17",
    ),
    "suggest": Verb(
        "pfedgp.living.suggest",
        "say which of many unlabelled samples a site should label next",
        "pfedgp suggest --site sites/ward-3 --pool unlabelled/ --count 20",
    ),
    "watch": Verb(
        "pfedgp.living.watch",
        "raise an alarm where new samples, without labels, are unlike a site's own",
        "pfedgp watch --site sites/ward-3 --data new/",
    ),
    "export": Verb(
        "pfedgp.commands.export",
        "write a site's classifier as an ONNX file, checked against its own answers",
        "pfedgp export --site sites/ward-3 --onnx ward-3.onnx",
    ),
    "serve": Verb(
        "pfedgp.commands.serve",
        "answer requests for predictions of a site's classifier over HTTP, on this machine",
        "pfedgp serve --site sites/ward-3",
    ),
    "bundle": Verb(
        "pfedgp.commands.bundle",
        "put a trained model into one signed file, for sites that onboard themselves without a server",
        "pfedgp bundle out/my-run/best --key release-key --out my-run.bundle",
    ),
    "certify": Verb(
        "pfedgp.commands.certify",
        "bound the error of a site's classifier, with a stated probability",
        "pfedgp certify --site sites/ward-3 --unseen",
    ),
    "check-data": Verb(
        "pfedgp.commands.check_data",
        "show what a site's own data hold and what keeps them from being used",
        "pfedgp check-data ward-3/images",
    ),
    "export-client": Verb(
        "pfedgp.commands.export_client",
        "write the data of a simulated client as files, to try onboarding with",
        "pfedgp export-client --dataset digits --clients 20 --client client-18 --out client-18",
    ),
    "partition": Verb(
        "pfedgp.commands.partition",
        "show who holds what in a simulation, without running it",
        "pfedgp partition --dataset digits --clients 20 --partition dirichlet --plot partition.png",
    ),
    "settings": Verb(
        "pfedgp.commands.settings",
        "list every setting with its default and meaning",
        "pfedgp settings --toml > my-settings.toml",
    ),
}
